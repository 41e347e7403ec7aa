/* A process that makes one landing after the other (doc/design/landing.md,
 * L15): `pointsman land WORK` with a socket as its standard input, on which it
 * gets requests and sends answers (wire/lander.h).
 *
 * Only landings of sets whose target has no checks come here, so nothing of a
 * set runs in this process or below it. A process that was asked to stop, or
 * whose socket was closed, ends after the landing under way. */
#ifndef POINTSMAN_LANDING_LAND_SERVE_H
#define POINTSMAN_LANDING_LAND_SERVE_H

/* All landings use the work directory, whose path begins at the working
 * directory. Returns the exit status. */
int land_serve(int sock, const char *work);

#endif
