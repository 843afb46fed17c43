// Hashing
