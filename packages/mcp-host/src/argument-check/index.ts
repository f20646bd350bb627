export { type ArgumentCheck, compileArgumentCheck } from './argument-check.ts';
