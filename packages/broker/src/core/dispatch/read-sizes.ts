/** The most messages that are read from the store at once. */
export const readBatch = 128;
/** The most bytes of one read. All messages of a read are pushed, even if the consumer reads slowly. */
export const readBytes = 1024 * 1024;
