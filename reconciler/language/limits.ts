/** Bytes of a file at most. A reader may stop one byte later. */
export const maxFileBytes = 1024 * 1024;

/** Collections inside collections at most. */
export const maxDepth = 32;

/** Values of a document at most, each alias counted as often as it is used. */
export const maxValues = 100_000;

/** Values of all documents of a file at most, counted likewise. */
export const maxFileValues = 250_000;

/** Documents of a file at most. */
export const maxDocuments = 1000;
