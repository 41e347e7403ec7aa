/* Requests about nodes: handlers named in routes.def, which also says what each
 * does. Each answers the call, or sets `work` (api/api_call.h). */
#ifndef POINTSMAN_NODES_NODE_REQUEST_H
#define POINTSMAN_NODES_NODE_REQUEST_H

struct api_call;

void node_request_list(struct api_call *call);
void node_request_sources(struct api_call *call);
void node_request_refresh(struct api_call *call);

#endif
