// The meaning of the configuration of servers. It loads quickly, because it loads nothing that runs servers.
export { dataFolderOf } from './config/instance-name.ts';
export { type ConfiguredValue, judgeServer } from './config/server-secrets.ts';
export {
  inheritedVariables,
  isSetting,
  ownPrefix,
  requestedVariables,
  unmatchedVariablePatterns,
} from './environment/inherited-variables.ts';
export { endOfChangedName, mcpToolName, toolNameStart } from './inventory/tool-name.ts';
