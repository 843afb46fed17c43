#pragma once
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>

// Swift imports neither variadic functions nor casting macros.

// Targets stay as they were sent: decoding is Swift's, which can refuse.
static size_t trax_mhd_unescape(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

// One thread on epoll that may suspend connections; no log, which prints a line for each client
// that leaves a stream. The socket, bound and listening, is MHD's from here on, if it starts.
static inline struct MHD_Daemon *trax_mhd_start(
    int listening, unsigned int connections, unsigned int idle_seconds, size_t head_bytes,
    void *context, MHD_AccessHandlerCallback handle,
    void *(*begin)(void *, const char *, struct MHD_Connection *),
    MHD_RequestCompletedCallback completed
) {
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL,
        handle, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listening,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_bytes,
        MHD_OPTION_STRICT_FOR_CLIENT, (int)1,
        MHD_OPTION_URI_LOG_CALLBACK, begin, context,
        MHD_OPTION_UNESCAPE_CALLBACK, &trax_mhd_unescape, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_END);
}

static inline void trax_mhd_never_idle(struct MHD_Connection *connection) {
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
}

static inline struct sockaddr *trax_mhd_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

// MHD 0.9.75 closes a connection that a callback gave up only when its loop turns again, which may
// be never. This ends it at once, orderly after what was sent or by a reset, and turns the loop.
static inline void trax_mhd_end(struct MHD_Connection *connection, int reset) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (!info)
        return;
    if (reset)
        connect(info->connect_fd, &nowhere, sizeof nowhere);
    else
        shutdown(info->connect_fd, SHUT_RDWR);
}
