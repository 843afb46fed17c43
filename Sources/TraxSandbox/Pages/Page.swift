internal import Crypto
internal import HTTPServer

/// A page without script, picture or anything else from elsewhere.
///
/// Its text goes through `HTML.escape`; the policy of its head forbids scripts, connections and
/// frames to whatever might slip through all the same.
struct Page {
    let title: String
    /// Markup, of which every foreign word is escaped.
    let body: String
    var status = 200
    var headers: [(name: String, value: String)] = []
    /// Whether there is a form to send.
    ///
    /// Browsers hold the redirects behind a form to the same
    /// directive, and those lead to other hosts, so a page with a form has to leave it out.
    var hasForm = false

    var reply: HTTPServerReply {
        let policy =
            "default-src 'none'; style-src '\(Self.styleSource)'; base-uri 'none'; "
            + "frame-ancestors 'none'" + (hasForm ? "" : "; form-action 'none'")
        let text = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(HTML.escape(title))</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <h1>\(HTML.escape(title))</h1>
            \(body)
            </main>
            </body>
            </html>

            """
        return HTTPServerReply(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
                ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
                ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
            ] + headers, body: Array(text.utf8))
    }

    private static let style = """
        body{font:1rem/1.5 system-ui,sans-serif;margin:0;background:#f4f4f2;color:#1c1c1a}\
        main{max-width:28rem;margin:3rem auto;padding:1.5rem;background:#fff;border-radius:.5rem}\
        h1{font-size:1.25rem;margin-top:0}label{display:block;margin:.5rem 0}\
        button,.control{font:inherit;display:inline-block;margin:.5rem .5rem 0 0;\
        padding:.5rem 1rem;border:1px solid #1c1c1a;border-radius:.25rem;background:#fff;\
        color:inherit;text-decoration:none}code{word-break:break-all}
        """

    private static let styleSource =
        "sha256-" + Base64.encode(SHA256.hash(style), .standard)
}

/// Text for markup.
enum HTML {
    /// Fit for text and for the value of an attribute in double quotes.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A field that is sent without being seen.
    static func hidden(_ name: String, _ value: String) -> String {
        #"<input type="hidden" name="\#(escape(name))" value="\#(escape(value))">"#
    }
}

extension HTTPServerReply {
    /// To another address by GET; what it was asked for is not repeated there.
    static func see(
        _ location: String, headers: [(name: String, value: String)] = []
    ) -> HTTPServerReply {
        HTTPServerReply(
            status: 303,
            headers: [
                ("Location", location), ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
            ] + headers)
    }
}

extension HTTPServerRequest {
    /// Every parameter once, or nil: RFC 6749, 3.1, forbids to repeat one.
    static func single(_ pairs: [(name: String, value: String)]) -> [String: String]? {
        var found: [String: String] = [:]
        for (name, value) in pairs {
            guard found.updateValue(value, forKey: name) == nil else { return nil }
        }
        return found
    }
}
