/** The forms in which well-known issuers write their credentials, with the documents that describe them. */
const shapes: readonly RegExp[] = [
  // GitHub: docs.github.com, "About authentication to GitHub", token formats.
  /gh[opsur]_[A-Za-z0-9]{20,}/,
  /github_pat_\w{20,}/,
  // GitLab: docs.gitlab.com, "Token overview", token prefixes.
  /gl(?:pat|dt|rt|cbt|ptt|ft|agent|soat)-[\w.-]{20,}/,
  // AWS: docs.aws.amazon.com, "IAM identifiers", unique ID prefixes of access keys.
  /(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])/,
  // Slack: docs.slack.dev, "Tokens".
  /xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}/,
  /xapp-[A-Za-z0-9-]{10,}/,
  // OpenAI and Anthropic: their API keys begin with sk-, Stripe's with sk_ or rk_ and the mode.
  /sk-[A-Za-z0-9][\w-]{19,}/,
  /[rs]k_(?:live|test)_[A-Za-z0-9]{10,}/,
  // Google: cloud.google.com, "Manage API keys".
  /AIza[\w-]{35}/,
  // npm and PyPI: their help pages on access tokens.
  /npm_[A-Za-z0-9]{36}/,
  /pypi-[\w-]{50,}/,
  // Hugging Face: huggingface.co/docs, "User access tokens".
  /hf_[A-Za-z0-9]{30,}/,
  // Tokens of Signalbox itself.
  /sbx_[\w.*-]{1,128}~[\w-]{20,}/,
  // JSON Web Tokens: RFC 7519. Header and claims are JSON objects, and so begin with the same letters.
  /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/,
];
/** A private key in PEM: RFC 7468. One whose end is missing reaches to the end of the text. */
const privateKey = '-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)';

/** No credential begins inside a word. A word may end with an escape of JSON, or with a colour of a terminal. */
const beginning = '(?:(?<![A-Za-z0-9_-])|(?<=\\\\[bfnrt])|(?<=\\x1b\\[[0-9;]{0,20}m))';

/** A credential begins with its first character, so that no part of a text is searched twice. */
const credential = new RegExp(
  `${privateKey}|${beginning}(?:${shapes.map(({ source }) => source).join('|')})`,
  'g',
);

/** Lists the parts of a text that have the form of a well-known issuer's credential. */
export function credentialsIn(text: string): string[] {
  return text.match(credential) ?? [];
}

/** Replaces the parts of a text that have the form of a well-known issuer's credential. */
export function withoutCredentials(text: string): string {
  return text.replace(credential, '[redacted]');
}
