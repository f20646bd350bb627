export { pathText } from './path-text.ts';
export { type SchemaProblem, schemaProblems } from './schema-problems.ts';
