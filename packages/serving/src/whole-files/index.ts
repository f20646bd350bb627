export { type WriteOptions, writeWhole, writeWholeNow } from './write-whole.ts';
