/*-------------------------------------------------------------------------
 *
 * there.h
 *		What exchange.check finds out by connections of its own to a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_THERE_H
#define PX_CHECK_THERE_H

#include "check/report.h"

/*
 * Connect as a stream does, and add a row for all that is found out until
 * something is in the way.  False if the server does not answer: then nobody
 * should wait for it any more.  Whatever is wrong with the server is a row;
 * the only errors are interrupts, and lack of memory.
 */
extern bool px_check_there(px_report *report, ForeignServer *server,
						   UserMapping *user);

#endif							/* PX_CHECK_THERE_H */
