export { pathText } from './path-text.ts';
export { type SchemaProblem, schemaProblems } from './schema-problems.ts';
export { type FileWatch, watchFiles } from './watch-files.ts';
export { keyOffset, parseYaml, parseYamlDocuments, valueOffset, type YamlDocument } from './yaml-document.ts';
