/// What `GET /sandbox` answers.
enum ControlGuide {
    static let text = """
        TRaX sandbox. The API is under /v1; this is its control. JSON in and out.

        GET    /sandbox/accounts                 ?limit= &after=   all accounts with their keys
        POST   /sandbox/accounts                 {"account":"acct_1","connections":2,"scopes":[…]}
                                                     {"count":100,"prefix":"acct_","connections":2}
        GET    /sandbox/accounts.csv                 account,credential: an accounts file
        GET    /sandbox/accounts/ID                  one account with its rows
        DELETE /sandbox/accounts/ID
        POST   /sandbox/accounts/ID/keys             {"scopes":["connections:read"]}
        POST   /sandbox/accounts/ID/studios          {"name":"Second studio"}
        DELETE /sandbox/keys/KEY                     revokes
        PUT    /sandbox/keys/KEY                     {"scopes":[...]}  un-revokes, sets scopes

        POST   /sandbox/accounts/ID/connections      {"platform":"youtube","id":...,"status":...,
                                                      "grantedScopes":[...], any other member}
        PATCH  /sandbox/accounts/ID/connections/ROW  members to set, of any type; "remove":["name"]
        POST   /sandbox/accounts/ID/connections/ROW/break    {"status":"expired"}
        POST   /sandbox/accounts/ID/connections/ROW/repair
        DELETE /sandbox/accounts/ID/connections/ROW

        GET    /sandbox/links                        attempts to link, with their states
        POST   /sandbox/links/STATE                  {"decision":"allow","scopes":[…],"person":…}
                                                     or "deny": what a person would do in a browser
        PUT    /sandbox/linking                      {"attemptSeconds":600,"rowState":true}

        GET    /sandbox/identity                     the identity provider: clients, sessions
        PUT    /sandbox/identity     {"accessSeconds":3600,"reuseLeeway":0,"tokenStatus":503,
                                      "tokenDelay":500}  milliseconds that its answers are late
                                     {"endDelay":500}  the same, of revocation and end_session
                                     {"takesRepeats":false}  an Idempotency-Key is ignored
                                     {"accessOutlives":true}  tokens outlive their session
        POST   /sandbox/identity/renew               a new signing key: no access token is good
        PUT    /sandbox/clients/ID                   {"redirectURIs":["http://127.0.0.1/callback"]}
        POST   /sandbox/accounts/ID/tokens           {"client":"trax-relay"}  signs its owner in
        DELETE /sandbox/accounts/ID/tokens           no refresh token of its owner is good any more

        GET    /sandbox/faults
        POST   /sandbox/faults              {"kind":KIND,"account":ID,"count":N,"laterPages":true}
               Without account: for all. Without count: until cleared.
               status  (status, code, retryAfter)    an error of the API
               proxy   (status, retryAfter)          an error in HTML from something before it
               delay   (milliseconds)                late, and the next fault acts as well
               html garbage truncate reset drop empty noContent redirect cursorLoop badRow doubleRow
        DELETE /sandbox/faults                       ?account=
        DELETE /sandbox/faults/NUMBER

        POST   /sandbox/scenario   {"speed":60,"accounts":1000,"prefix":"acct_","connections":2,
                                    "breakage":{"perDay":0.01,"repairAfter":14400,"repaired":0.8},
                                    "outages":[{"at":60,"seconds":30,"every":600,"kind":"status"}]}
        GET    /sandbox/scenario                     what has happened so far;  DELETE ends it

        GET    /sandbox/rate                         the bucket of every key
        PUT    /sandbox/rate                         {"perSecond":50,"burst":100}
        PUT    /sandbox/writes                       {"enabled":false}  503 write_disabled on writes
        GET    /sandbox/stats                        answers of the API by status
        POST   /sandbox/reset                        {"seed":1}  forgets everything

        """
}
