export {
  brokerKeeper,
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  orchestratorFiles,
} from './data-directory.ts';
export { readTokenFile, tokenInText } from './token-file.ts';
