export {
  brokerKeeper,
  checkDataDirectory,
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  orchestratorFiles,
  runningAddresses,
  runningBroker,
  workspaceRecordsDirectory,
} from './data-directory.ts';
