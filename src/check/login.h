/*-------------------------------------------------------------------------
 *
 * login.h
 *		Why a connection to a server cannot be made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_LOGIN_H
#define PX_CHECK_LOGIN_H

#include "check/report.h"
#include "conn/connect.h"

/*
 * Connect to the server as a stream would, and as an addition to what it may
 * have: *connecting is as after px_connect_start, whatever the outcome.
 * Blocks for as long as a stream would, serving interrupts.
 */
extern px_outcome px_check_connect(ForeignServer *server, UserMapping *user,
								   px_connecting *connecting);

/*
 * What is wrong, in words and with a name, after an outcome of
 * px_check_connect that is not PX_OUTCOME_OK.
 */
extern px_finding px_login_finding(const px_connecting *connecting,
								   px_outcome outcome);

#endif							/* PX_CHECK_LOGIN_H */
