// For our own packages and programs only: anything here may change in any version.

export { patternWarnings } from './roles/allowlist-warnings.ts';
