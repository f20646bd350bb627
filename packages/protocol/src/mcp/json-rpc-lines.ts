export { jsonProblem } from '../wire/parse-json.ts';
export { JsonLineReader, jsonLine } from './json-lines.ts';
export { jsonRpcHead } from './json-rpc-head.ts';
