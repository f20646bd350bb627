export { type ArgumentCheck, compileArgumentCheck } from './argument-check.ts';
export { ClientForms } from './client-forms/client-forms.ts';
export { compileProblem, mendedSchema, schemaProblem } from './schema/mended-schema.ts';
