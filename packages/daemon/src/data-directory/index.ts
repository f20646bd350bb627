export {
  dataDirectory,
  operatorToken,
  orchestratorFiles,
  runningBrokerUrl,
} from './data-directory.ts';
export { readTokenFile, tokenInText } from './token-file.ts';
