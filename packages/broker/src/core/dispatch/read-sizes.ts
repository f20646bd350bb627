/** The most messages that are read from the store at once. */
export const readBatch = 128;
/** The most bytes of them. All messages of one read are pushed, however slowly the consumer reads. */
export const readBytes = 1024 * 1024;
