/*-------------------------------------------------------------------------
 *
 * replay.c
 *		Runs a fuzz target on files, without libFuzzer: one line of TAP.
 *
 * Arguments: the target's name; files, or folders of files.  There must be at
 * least one input.  What crashes the target fails the test, and is named.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char current[4096];
static unsigned long ninputs;

/* Nothing but what a signal handler may do. */
static void
say_which(int number)
{
	static const char text[] = "not ok 1 - ";
	ssize_t		written;

	written = write(STDOUT_FILENO, text, sizeof(text) - 1);
	written += write(STDOUT_FILENO, current, strlen(current));
	written += write(STDOUT_FILENO, "\n", 1);
	(void) written;
	signal(number, SIG_DFL);
	raise(number);
}

static void
fail(const char *why)
{
	printf("not ok 1 - %s: %s\n", current, why);
	exit(EXIT_FAILURE);
}

static void
replay_file(const char *path, size_t nbytes)
{
	uint8_t    *data = malloc(Max(nbytes, 1));
	FILE	   *file = fopen(path, "rb");

	if (data == NULL || file == NULL || fread(data, 1, nbytes, file) != nbytes)
		fail("cannot be read");
	fclose(file);
	(void) LLVMFuzzerTestOneInput(data, nbytes);
	free(data);
	ninputs++;
}

static void
replay(const char *path)
{
	struct stat status;
	struct dirent **entries;
	int			n;

	snprintf(current, sizeof(current), "%s", path);
	if (stat(path, &status) != 0)
		fail("is not there");
	if (!S_ISDIR(status.st_mode))
	{
		replay_file(path, (size_t) status.st_size);
		return;
	}
	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0)
		fail("cannot be read");
	for (int i = 0; i < n; i++)
	{
		char		inner[4096];

		if (entries[i]->d_name[0] != '.')
		{
			if (snprintf(inner, sizeof(inner), "%s/%s", path,
						 entries[i]->d_name) >= (int) sizeof(inner))
				fail("has too long a name");
			replay(inner);
		}
		free(entries[i]);
	}
	free(entries);
}

int
main(int argc, char **argv)
{
	signal(SIGSEGV, say_which);
	signal(SIGBUS, say_which);
	signal(SIGABRT, say_which);
	signal(SIGFPE, say_which);
	for (int i = 2; i < argc; i++)
		replay(argv[i]);
	if (ninputs == 0)
		fail("no input");
	printf("ok 1 - target %s survives the %lu inputs of its corpus\n1..1\n",
		   argv[1], ninputs);
	return EXIT_SUCCESS;
}
