export { type ArgumentCheck, type CheckedArguments, compileArgumentCheck } from './argument-check.ts';
