/* Requests on toys. Handlers named in routes.def. */
#ifndef POINTSMAN_TOY_TOY_REQUEST_H
#define POINTSMAN_TOY_TOY_REQUEST_H

struct api_call;

void toy_request_wind(struct api_call *call);
void toy_request_list(struct api_call *call);

#endif
