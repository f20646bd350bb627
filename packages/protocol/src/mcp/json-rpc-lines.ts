export { exactNumber, longNumber, readJson } from '../wire/exact-json.ts';
export { jsonProblem } from '../wire/parse-json.ts';
export { JsonLineReader, jsonLine } from './json-lines.ts';
export { jsonRpcHead, plainIdPattern } from './json-rpc-head.ts';
