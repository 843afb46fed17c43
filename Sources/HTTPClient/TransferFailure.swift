internal import CCurl
internal import Glibc

/// What libcurl says about a transfer that failed, and what that means to us.
struct TransferFailure {
    let code: CURLcode
    let origin: String
    /// libcurl's sentence; shown only where it can hold nothing but names and addresses.
    let detail: String
    let systemError: Int32
    let headEnded: Bool
    let isTooLarge: Bool

    /// The error that callers see.
    var error: HTTPError {
        if isTooLarge { return HTTPError(.tooLarge, "The body from \(origin) is too large.") }
        return connecting ?? answering
    }

    private var general: String { unsafe String(cString: curl_easy_strerror(code)) }

    private var precise: String { detail.isEmpty ? general : detail }

    /// What goes wrong before an answer can come.
    private var connecting: HTTPError? {
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return HTTPError(.timedOut, "\(origin) did not answer in time.")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return HTTPError(.resolve, "The name of \(origin) was not resolved: \(precise).")
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED:
            return HTTPError(.unreachable, "\(origin) cannot be reached: \(precise).")
        case CURLE_PROXY:
            return HTTPError(.unreachable, "The proxy before \(origin) failed: \(general).")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS:
            return HTTPError(.tls, "TLS with \(origin) failed: \(precise).")
        case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED:
            return HTTPError(.unsupportedURL, "The URL is malformed or names a user.")
        default:
            return nil
        }
    }

    /// What goes wrong while sending, or with the answer.
    private var answering: HTTPError {
        switch code {
        case CURLE_PARTIAL_FILE:
            return HTTPError(.truncated, "\(origin) closed before the end of the body.")
        case CURLE_RECV_ERROR where headEnded && systemError == 0:
            return HTTPError(.truncated, "The body from \(origin) is cut or malformed: \(general).")
        case CURLE_GOT_NOTHING:
            return HTTPError(.reset, "\(origin) closed without an answer.")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2_STREAM, CURLE_AGAIN:
            return HTTPError(.reset, "The connection with \(origin) broke: \(general).")
        case CURLE_FILESIZE_EXCEEDED:
            return HTTPError(.tooLarge, "The body from \(origin) is too large.")
        case CURLE_UNSUPPORTED_PROTOCOL:
            // The scheme was checked before: this is what came, such as HTTP/0.9.
            return HTTPError(.protocolError, "\(origin) did not answer in HTTP/1 or HTTP/2.")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR,
            CURLE_RANGE_ERROR, CURLE_TOO_MANY_REDIRECTS:
            return HTTPError(.protocolError, "\(origin) broke the protocol: \(general).")
        default:
            return HTTPError(.other, "The request to \(origin) failed: \(general).")
        }
    }
}

/// What libcurl wants once in a process.
enum Curl {
    /// `curl_global_init(3)`, once; and SIGPIPE ignored.
    ///
    /// With `CURLOPT_NOSIGNAL` libcurl leaves SIGPIPE alone, and OpenSSL writes with `write(2)`: a
    /// peer that closes early would end the process. A handler of the program's own is kept.
    static func start() throws(HTTPError) {
        guard started == CURLE_OK else {
            throw HTTPError(.other, "libcurl did not start.")
        }
    }

    private static let started: CURLcode = {
        var current = sigaction()
        if unsafe sigaction(SIGPIPE, nil, &current) == 0,
            unsafe current.__sigaction_handler.sa_handler == nil
        {
            _ = signal(SIGPIPE, SIG_IGN)
        }
        return trax_curl_start()
    }()

    /// Keeps up to 64 MiB of freed memory instead of giving it back: 7 % of CPU with TLS.
    static func keepHeap() { _ = trax_keep_heap(64 << 20) }
}
