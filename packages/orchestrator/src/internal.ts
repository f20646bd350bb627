// For our own packages and programs only: anything here may change in any version.

export { type AllowlistWarning, allowlistWarnings } from './roles/allowlist-warnings.ts';
export { mayMeanToolOf } from './roles/tool-pattern.ts';
