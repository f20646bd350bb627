const word = '(?:api_?)?(?:key|token|secret|pass|pat|pwd|credentials?|authorization|cookie)';
/** These words mean a secret also at the end of a longer one, as in `PGPASSWORD` and `githubToken`. */
const ending = 'api_?key|token|secret|password|passwd|passphrase';
const secretName = new RegExp(`(?:(?:^|[_-])${word}|${ending})s?$`, 'i');

/** Returns true if the value of a variable, a header or a query parameter with this name is a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}
