/*-------------------------------------------------------------------------
 *
 * hello_fault.h
 *		What to do if a server refuses exchanges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_HELLO_FAULT_H
#define PX_CHECK_HELLO_FAULT_H

#include "check/report.h"

/* The name of the fault if there was no answer in time. */
#define PX_FAULT_NO_ANSWER	"no_answer"

/*
 * The finding about item if this is the reason, which conn/introduce.h or
 * conn/genuine.h gives.  files is the version that is installed there, or
 * NULL.
 */
extern px_finding px_hello_finding(const char *item, const char *reason,
								   const char *files);

#endif							/* PX_CHECK_HELLO_FAULT_H */
