import { customAlphabet } from 'nanoid';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes a random id for a token. People pass these ids to commands, where a leading dash would make them options. */
export const newTokenId: () => string = customAlphabet(alphabet, 14);
