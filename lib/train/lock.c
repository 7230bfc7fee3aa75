#include "train/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

/* A file system without locks is no reason not to train. */
static clf_status lock_file(int descriptor, const char *folder)
{
    int result;
    do {
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: another run trains there; wait for its end, or take another folder", folder);
    }
    if (result != 0) {
        clf__log(CLF_LOG_WARNING, "%s: cannot be locked (%s); see that no other run trains there", folder,
                 strerror(errno));
    }
    return CLF_OK;
}

clf_status clf__lock_take(struct clf__lock *out, const char *folder)
{
    char *path = NULL;
    *out = (struct clf__lock){0};
    CLF__TRY(clf__path_join(&path, folder, "lock"));
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    clf_status status = CLF_OK;
    if (descriptor < 0) {
        status = clf__file_fail(path, "created");
    } else {
        status = lock_file(descriptor, folder);
    }
    clf__free(path);
    if (status == CLF_OK) {
        out->number = descriptor + 1;
    } else if (descriptor >= 0) {
        close(descriptor);
    }
    return status;
}

void clf__lock_release(struct clf__lock *lock)
{
    if (lock->number > 0) {
        close(lock->number - 1);
    }
    *lock = (struct clf__lock){0};
}
