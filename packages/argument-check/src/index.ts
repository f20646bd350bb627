export { type ArgumentCheck, type CheckedArguments, compileArguments } from './argument-check.ts';
