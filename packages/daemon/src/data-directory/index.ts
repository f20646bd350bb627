export {
  brokerKeeper,
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  orchestratorFiles,
  workspaceRecordsDirectory,
} from './data-directory.ts';
export { readTokenFile, tokenInText } from './token-file.ts';
