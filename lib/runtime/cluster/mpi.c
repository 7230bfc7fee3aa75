/* Communication through MPI; the only file that includes <mpi.h>. */
#include "runtime/cluster/ranks.h"

#ifdef CLF_HAS_MPI

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#include "base/clock.h"
#include "base/memory.h"

enum { MESSAGE_TAG = 1 };

/* The asynchronous operation of a ticket. */
struct operation {
    MPI_Request request; /* MPI_REQUEST_NULL: no operation, or completed */
    int *counts[4];      /* (size) each: MPI's counts and displacements of the sent and received segments */
};

struct mpi {
    MPI_Comm ranks;
    int is_ours;    /* this library initialised MPI and must finalise it */
    int has_failed; /* a rank has failed; no further communication */
    int is_known;   /* all ranks know of the failure */
    int rank;
    double waited; /* seconds spent waiting for other ranks */
    struct operation operations[CLF__TICKETS];
    char host[MPI_MAX_PROCESSOR_NAME];
    struct message *first; /* queue of received messages */
};

/* A message from another rank. */
struct message {
    struct message *next;
    void *bytes;
    size_t count;
    int from;
};

static clf_status check(struct mpi *mpi, int error, const char *doing)
{
    if (error == MPI_SUCCESS) {
        return CLF_OK;
    }
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, reason, &length);
    mpi->has_failed = 1;
    return clf__fail(CLF_NETWORK, "rank %d on %s: MPI failed while %s: %s", mpi->rank, mpi->host, doing,
                     reason);
}

/* Waits without occupying a core, because ranks may share a machine. Polls continuously at first, because
 * MPI makes progress only inside its calls, then with pauses that are short compared with the time already
 * waited. */
static clf_status settle(struct mpi *mpi, int error, MPI_Request *request, const char *doing)
{
    static const double eager = 2e-3, longest = 1e-3; /* seconds */
    CLF__TRY(check(mpi, error, doing));
    for (double start = clf__seconds();;) {
        int is_done = 0;
        CLF__TRY(check(mpi, MPI_Test(request, &is_done, MPI_STATUS_IGNORE), doing));
        double waited = clf__seconds() - start, pause = waited / 8;
        if (is_done) {
            mpi->waited += waited;
            return CLF_OK;
        }
        if (waited < eager) {
            sched_yield();
        } else {
            pause = pause < longest ? pause : longest;
            nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
        }
    }
}

/* Finds the lowest rank that has failed, or the number of ranks if none has. Every collective call begins
 * with this exchange and thus learns of failures on other ranks. */
static clf_status find_failed(int *out, const struct clf__communicator *communicator, clf_status status)
{
    struct mpi *mpi = communicator->context;
    MPI_Request request;
    int own = status == CLF_OK ? communicator->size : communicator->rank;
    int error = MPI_Iallreduce(&own, out, 1, MPI_INT, MPI_MIN, mpi->ranks, &request);
    return settle(mpi, error, &request, "waiting for other ranks");
}

static clf_status fail_parted(void)
{
    return clf__fail(CLF_NETWORK, "the ranks stopped communicating after an earlier failure");
}

static clf_status agree(const struct clf__communicator *communicator, clf_status status)
{
    struct mpi *mpi = communicator->context;
    if (mpi->has_failed) {
        return status != CLF_OK ? status : fail_parted();
    }
    struct clf__failure failure = clf__failure_keep(status);
    int first;
    CLF__TRY(find_failed(&first, communicator, status));
    if (first == communicator->size) {
        return CLF_OK;
    }
    if (first == communicator->rank) {
        clf__failure_again(&failure);
        (void)clf__fail_in(status, "rank %d on %s", first, mpi->host);
        failure = clf__failure_keep(status);
    }
    MPI_Request request;
    int error = MPI_Ibcast(&failure, sizeof failure, MPI_BYTE, first, mpi->ranks, &request);
    CLF__TRY(settle(mpi, error, &request, "receiving the failure of a rank"));
    mpi->has_failed = mpi->is_known = 1;
    return clf__failure_again(&failure);
}

/* Sums numbers in segments, because MPI's counts are int. */
static clf_status sum(const struct clf__communicator *communicator, void *values, size_t count, size_t width,
                      MPI_Datatype type)
{
    enum { MOST = 1 << 24 };
    struct mpi *mpi = communicator->context;
    CLF__TRY(agree(communicator, CLF_OK));
    for (size_t first = 0; first < count; first += MOST) {
        MPI_Request request;
        int size = count - first < MOST ? (int)(count - first) : MOST;
        int error = MPI_Iallreduce(MPI_IN_PLACE, (char *)values + first * width, size, type, MPI_SUM,
                                   mpi->ranks, &request);
        CLF__TRY(settle(mpi, error, &request, "summing"));
    }
    return CLF_OK;
}

static clf_status sum_doubles(const struct clf__communicator *communicator, double *values, size_t count)
{
    return sum(communicator, values, count, sizeof *values, MPI_DOUBLE);
}

static clf_status sum_integers(const struct clf__communicator *communicator, int64_t *values, size_t count)
{
    return sum(communicator, values, count, sizeof *values, MPI_INT64_T);
}

static clf_status broadcast(const struct clf__communicator *communicator, void *bytes, size_t count)
{
    enum { MOST = 1 << 26 };
    struct mpi *mpi = communicator->context;
    CLF__TRY(agree(communicator, CLF_OK));
    for (size_t first = 0; first < count; first += MOST) {
        MPI_Request request;
        int size = count - first < MOST ? (int)(count - first) : MOST;
        int error = MPI_Ibcast((char *)bytes + first, size, MPI_BYTE, 0, mpi->ranks, &request);
        CLF__TRY(settle(mpi, error, &request, "broadcasting"));
    }
    return CLF_OK;
}

/* Fills MPI's counts and displacements. */
static clf_status lay_out(int *counts, int *places, const size_t *given, int size)
{
    size_t place = 0;
    for (int i = 0; i < size; i++) {
        if (given[i] > INT_MAX - place) {
            return clf__fail(CLF_UNSUPPORTED, "%zu numbers exceed the count that MPI supports in one call",
                             place + given[i]);
        }
        counts[i] = (int)given[i];
        places[i] = (int)place;
        place += given[i];
    }
    return CLF_OK;
}

/* Finds the operation of a ticket; fails after an earlier failure. */
static clf_status take_ticket(struct operation **out, const struct clf__communicator *communicator,
                              int ticket)
{
    struct mpi *mpi = communicator->context;
    *out = &mpi->operations[ticket];
    return mpi->has_failed ? fail_parted() : CLF_OK;
}

static MPI_Datatype type_of(size_t width)
{
    return width == sizeof(float) ? MPI_FLOAT : MPI_UINT16_T;
}

static clf_status begin_sum(const struct clf__communicator *communicator, int ticket, float *values,
                            size_t count)
{
    struct mpi *mpi = communicator->context;
    struct operation *its;
    CLF__TRY(take_ticket(&its, communicator, ticket));
    return check(
        mpi, MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, mpi->ranks, &its->request),
        "summing");
}

static clf_status begin_exchange(const struct clf__communicator *communicator, int ticket, size_t width,
                                 const void *sent, const size_t *sent_counts, void *received,
                                 const size_t *received_counts)
{
    struct mpi *mpi = communicator->context;
    struct operation *its;
    MPI_Datatype type = type_of(width);
    CLF__TRY(take_ticket(&its, communicator, ticket));
    CLF__TRY(lay_out(its->counts[0], its->counts[1], sent_counts, communicator->size));
    CLF__TRY(lay_out(its->counts[2], its->counts[3], received_counts, communicator->size));
    int error = MPI_Ialltoallv(sent, its->counts[0], its->counts[1], type, received, its->counts[2],
                               its->counts[3], type, mpi->ranks, &its->request);
    return check(mpi, error, "exchanging data");
}

static clf_status begin_gather(const struct clf__communicator *communicator, int ticket, size_t width,
                               void *values, const size_t *counts)
{
    struct mpi *mpi = communicator->context;
    struct operation *its;
    MPI_Datatype type = type_of(width);
    CLF__TRY(take_ticket(&its, communicator, ticket));
    CLF__TRY(lay_out(its->counts[0], its->counts[1], counts, communicator->size));
    int error = MPI_Iallgatherv(MPI_IN_PLACE, 0, type, values, its->counts[0], its->counts[1], type,
                                mpi->ranks, &its->request);
    return check(mpi, error, "gathering data");
}

static clf_status progress(const struct clf__communicator *communicator)
{
    struct mpi *mpi = communicator->context;
    for (int i = 0; i < CLF__TICKETS; i++) {
        int is_done;
        CLF__TRY(check(mpi, MPI_Test(&mpi->operations[i].request, &is_done, MPI_STATUS_IGNORE),
                       "advancing a transfer"));
    }
    return CLF_OK;
}

static clf_status finish(const struct clf__communicator *communicator, int ticket)
{
    struct mpi *mpi = communicator->context;
    return settle(mpi, MPI_SUCCESS, &mpi->operations[ticket].request, "waiting for a transfer");
}

int clf__mpi_is_begun(void)
{
    int is_begun = 0, is_ended = 0;
    MPI_Initialized(&is_begun);
    MPI_Finalized(&is_ended);
    return is_begun && !is_ended;
}

const char *clf__mpi_library(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0'; /* remove the build description */
    for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;) {
        *tab = ' ';
    }
    return version;
}

static void free_message(struct message *message)
{
    if (message != NULL) {
        clf__free(message->bytes);
        clf__free(message);
    }
}

/* Allocates a message. All ranks stop if memory is exhausted, because no message may be lost. */
static clf_status make_message(struct message **out, struct mpi *mpi, size_t count)
{
    struct message *message;
    clf_status status = clf__allocate(&message, 1, sizeof *message);
    *out = status == CLF_OK ? message : NULL;
    if (status == CLF_OK) {
        message->count = count;
        status = clf__allocate(&message->bytes, count + 1, 1);
    }
    if (status != CLF_OK) {
        mpi->has_failed = 1;
        return clf__fail_in(CLF_NETWORK, "rank %d on %s", mpi->rank, mpi->host);
    }
    return CLF_OK;
}

/* Receives one message, if one has arrived, and appends it to the queue. */
static clf_status take_in(struct mpi *mpi, int *has_come)
{
    MPI_Status about;
    MPI_Message handle;
    struct message *message, **end = &mpi->first;
    int count = 0;
    CLF__TRY(check(mpi, MPI_Improbe(MPI_ANY_SOURCE, MESSAGE_TAG, mpi->ranks, has_come, &handle, &about),
                   "probing for a message"));
    if (!*has_come) {
        return CLF_OK;
    }
    CLF__TRY(check(mpi, MPI_Get_count(&about, MPI_BYTE, &count), "receiving a message"));
    clf_status status = make_message(&message, mpi, (size_t)count);
    if (status == CLF_OK) {
        message->from = about.MPI_SOURCE;
        status = check(mpi, MPI_Mrecv(message->bytes, count, MPI_BYTE, &handle, MPI_STATUS_IGNORE),
                       "receiving a message");
    }
    if (status != CLF_OK) {
        free_message(message);
        return status;
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = message;
    return CLF_OK;
}

/* Sends a message. Receives incoming messages meanwhile, because the receiver may be sending to this rank. */
static clf_status send(const struct clf__communicator *communicator, int to, const void *bytes, size_t count)
{
    struct mpi *mpi = communicator->context;
    MPI_Request request;
    int is_done = 0, has_come = 0;
    if (count > INT_MAX) {
        return clf__fail(CLF_UNSUPPORTED, "%zu bytes exceed the size that MPI supports in one message",
                         count);
    }
    CLF__TRY(check(mpi, MPI_Isend(bytes, (int)count, MPI_BYTE, to, MESSAGE_TAG, mpi->ranks, &request),
                   "sending a message"));
    for (;;) {
        CLF__TRY(check(mpi, MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "sending a message"));
        if (is_done) {
            return CLF_OK;
        }
        CLF__TRY(take_in(mpi, &has_come));
        if (!has_come) {
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        }
    }
}

static clf_status receive(const struct clf__communicator *communicator, int *from, void **bytes,
                          size_t *count)
{
    struct mpi *mpi = communicator->context;
    int has_come = 1;
    *bytes = NULL;
    while (has_come) {
        CLF__TRY(take_in(mpi, &has_come));
    }
    struct message *message = mpi->first;
    if (message != NULL) {
        *from = message->from;
        *bytes = message->bytes;
        *count = message->count;
        mpi->first = message->next;
        clf__free(message);
    }
    return CLF_OK;
}

static void free_mpi(struct mpi *mpi)
{
    for (struct message *next, *message = mpi->first; message != NULL; message = next) {
        next = message->next;
        free_message(message);
    }
    for (int i = 0; i < 4 * CLF__TICKETS; i++) {
        clf__free(mpi->operations[i / 4].counts[i % 4]);
    }
    clf__free(mpi);
}

static clf_status begin(struct mpi *mpi)
{
    int is_ended = 0, provided;
    MPI_Finalized(&is_ended);
    if (is_ended) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "this process has already joined and left the other ranks, and cannot join them again");
    }
    if (!clf__mpi_is_begun()) {
        CLF__TRY(check(mpi, MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "initialising"));
        mpi->is_ours = 1;
    }
    return CLF_OK;
}

/* Duplicates MPI_COMM_WORLD to separate this library's messages from others of the process. */
static clf_status meet(struct clf__communicator *out, struct mpi *mpi)
{
    MPI_Comm host;
    int length;
    CLF__TRY(begin(mpi));
    CLF__TRY(check(mpi, MPI_Get_processor_name(mpi->host, &length), "reading the host name"));
    CLF__TRY(check(mpi, MPI_Comm_dup(MPI_COMM_WORLD, &mpi->ranks), "initialising"));
    CLF__TRY(check(mpi, MPI_Comm_set_errhandler(mpi->ranks, MPI_ERRORS_RETURN), "initialising"));
    CLF__TRY(check(mpi, MPI_Comm_rank(mpi->ranks, &out->rank), "initialising"));
    mpi->rank = out->rank;
    CLF__TRY(check(mpi, MPI_Comm_size(mpi->ranks, &out->size), "initialising"));
    CLF__TRY(check(mpi,
                   MPI_Comm_split_type(mpi->ranks, MPI_COMM_TYPE_SHARED, out->rank, MPI_INFO_NULL, &host),
                   "initialising"));
    CLF__TRY(check(mpi, MPI_Comm_rank(host, &out->host_rank), "initialising"));
    CLF__TRY(check(mpi, MPI_Comm_free(&host), "initialising"));
    for (int i = 0; i < 4 * CLF__TICKETS; i++) {
        int **counts = &mpi->operations[i / 4].counts[i % 4];
        CLF__TRY(clf__allocate(counts, (size_t)out->size, sizeof **counts));
    }
    return CLF_OK;
}

clf_status clf__mpi_join(struct clf__communicator *out, int started)
{
    struct mpi *mpi;
    CLF__TRY(clf__allocate(&mpi, 1, sizeof *mpi));
    mpi->ranks = MPI_COMM_NULL;
    for (int i = 0; i < CLF__TICKETS; i++) {
        mpi->operations[i].request = MPI_REQUEST_NULL;
    }
    *out = (struct clf__communicator){
        .waited = &mpi->waited,
        .context = mpi,
        .sum_doubles = sum_doubles,
        .sum_integers = sum_integers,
        .broadcast = broadcast,
        .agree = agree,
        .send = send,
        .receive = receive,
        .begin_sum = begin_sum,
        .begin_exchange = begin_exchange,
        .begin_gather = begin_gather,
        .progress = progress,
        .finish = finish,
    };
    clf_status status = meet(out, mpi);
    if (status == CLF_OK && started > 1 && out->size != started) {
        status = clf__fail(CLF_UNSUPPORTED,
                           "%d ranks were started, but %s, with which clformer was built, sees %d; start "
                           "them with the mpirun of that MPI",
                           started, clf__mpi_library(), out->size);
    }
    if (status != CLF_OK) {
        clf__mpi_leave(out, status);
    }
    return status;
}

/* After an MPI failure, terminates the other ranks: they may be waiting in a call that never ends, and
 * cannot be notified. */
void clf__mpi_leave(const struct clf__communicator *communicator, clf_status status)
{
    struct mpi *mpi = communicator->context;
    if (status != CLF_OK && !mpi->is_known && communicator->size > 1) {
        MPI_Abort(mpi->ranks, 1);
    }
    if (mpi->ranks != MPI_COMM_NULL) {
        MPI_Comm_free(&mpi->ranks);
    }
    if (mpi->is_ours) {
        MPI_Finalize();
    }
    free_mpi(mpi);
}

#else

int clf__mpi_is_begun(void)
{
    return 0;
}

const char *clf__mpi_library(void)
{
    return NULL;
}

clf_status clf__mpi_join(struct clf__communicator *out, int started)
{
    (void)out;
    return clf__fail(CLF_UNSUPPORTED,
                     "this is one of %d ranks, but clformer was built without MPI; build it with MPI "
                     "(Debian: libopenmpi-dev) or start a single process",
                     started);
}

void clf__mpi_leave(const struct clf__communicator *communicator, clf_status status)
{
    (void)communicator, (void)status;
}

#endif
