export { type ArgumentCheck, compileArgumentCheck } from './argument-check.ts';
export { compileProblem, mendedSchema, schemaProblem } from './schema/mended-schema.ts';
