extension [Int64] {
    /// Where the first time stands that is not before another; the count where none is.
    ///
    /// The times must ascend. Takes the logarithm of their count.
    func firstIndex(since time: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
