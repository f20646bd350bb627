export {
  brokerKeeper,
  checkDataDirectory,
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  orchestratorFiles,
  runningAddresses,
  runningBroker,
  servedAgentsDirectory,
  workspaceRecordsDirectory,
} from './data-directory.ts';
