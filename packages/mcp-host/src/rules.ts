// The meaning of the configuration of servers. It loads quickly, because nothing that runs servers comes with it.
export { dataFolderOf } from './config/instance-name.ts';
export { namedSecretsOf } from './config/result-redaction.ts';
export {
  inheritedVariables,
  ownPrefix,
  requestedVariables,
  unmatchedVariablePatterns,
} from './environment/inherited-variables.ts';
export { toolNameStart } from './inventory/tool-name.ts';
