public import ConnectionEvents

/// The header `Retry-After`: seconds, or an HTTP date (RFC 9110, sections 5.6.7 and 10.2.3).
public enum RetryAfter {
    /// However short the server's wish.
    static let shortest: Duration = .seconds(1)
    /// However long the server's wish.
    static let longest: Duration = .seconds(15 * 60)

    /// How long to wait, between 1 s and 15 min; nil when the header is neither form.
    ///
    /// A date is measured against the answer's own `Date`, so that clocks need not agree.
    public static func wait(_ header: String, date: String?, now: Timestamp) -> Duration? {
        let text = header.trimmed
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            let seconds = Int64(text) ?? .max
            return min(max(.seconds(min(seconds, 1_000_000)), shortest), longest)
        }
        guard let until = httpDate(text) else { return nil }
        let from = date.flatMap { httpDate($0.trimmed) } ?? now
        return min(max(until.since(from), shortest), longest)
    }

    /// Reads the three forms of RFC 9110: IMF-fixdate, RFC 850, asctime.
    static func httpDate(_ text: String) -> Timestamp? {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" })
        // Sun 06 Nov 1994 08:49:37 GMT | Sunday 06 Nov 94 08:49:37 GMT | Sun Nov 6 08:49:37 1994
        guard words.count == 6 || words.count == 5 else { return nil }
        let isASCTime = words.count == 5
        guard !isASCTime || words[3].contains(":"), isASCTime || words[5] == "GMT" else {
            return nil
        }
        let dayWord = isASCTime ? words[2] : words[1]
        let monthWord = isASCTime ? words[1] : words[2]
        let yearWord = isASCTime ? words[4] : words[3]
        let clockWord = isASCTime ? words[3] : words[4]
        guard let day = Int(dayWord), let month = months.firstIndex(of: String(monthWord)),
            var year = Int(yearWord)
        else { return nil }
        if yearWord.count == 2 { year += year < 70 ? 2000 : 1900 }
        let clockWords = clockWord.split(separator: ":", omittingEmptySubsequences: false)
        let clock = clockWords.compactMap { Int($0) }
        guard clock.count == 3, clockWords.count == 3, (1...31).contains(day),
            (0..<24).contains(clock[0]),
            (0..<60).contains(clock[1]), (0...60).contains(clock[2]), (1...9999).contains(year)
        else { return nil }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let paddedYear = String(repeating: "0", count: 4 - "\(year)".count) + "\(year)"
        return Timestamp(
            "\(paddedYear)-\(two(month + 1))-\(two(day))T"
                + "\(two(clock[0])):\(two(clock[1])):\(two(clock[2]))Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

extension String {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: String {
        var text = Substring(self)
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}

extension Timestamp {
    /// Reads the header `Date` in any of its forms; nil where it is none.
    ///
    /// RFC 9110, section 5.6.7.
    public init?(httpDate text: String) {
        guard let date = RetryAfter.httpDate(text.trimmed) else { return nil }
        self = date
    }
}
