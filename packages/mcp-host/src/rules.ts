// The meaning of the configuration of servers. It loads quickly, because it loads nothing that runs servers.
export { dataFolderOf } from './config/instance-name.ts';
export { namedSecretsOf } from './config/result-redaction.ts';
export {
  inheritedVariables,
  ownPrefix,
  requestedVariables,
  unmatchedVariablePatterns,
} from './environment/inherited-variables.ts';
export { toolNameStart } from './inventory/tool-name.ts';
