#!/usr/bin/env bash
# The official clients of MCP (@modelcontextprotocol/sdk 1.32.2 and client 2.4.0) send a client's secret by HTTP Basic as it is. RFC 6749
# §2.3.1 has it form-encoded first, and oidc-provider 9.13.3, which is certified, decodes it. So a secret with a plus, as base64
# makes them, or with a percent sign is refused as a wrong one, and the same secret works with oauth4webapi 3.8.8.
#
# Seen on Linux with Node 24, with sdk 1.32.2, client 2.4.0 and oauth4webapi:
#   letters: token, token, token
#   a plus: client authentication failed, client authentication failed, token
#   a percent sign: not properly encoded, not properly encoded, token
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} oidc-provider@9.13.3 oauth4webapi@3.8.8 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fetchToken as newToken } from '@modelcontextprotocol/client';
import { fetchToken as oldToken } from '@modelcontextprotocol/sdk/client/auth.js';
import * as oauth from 'oauth4webapi';
import Provider from 'oidc-provider';
const secrets = { letters: 'example-secret', 'a plus': 'example+secret', 'a percent sign': 'example%secret' };
const grant = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
const clients = Object.entries(secrets).map(([name, secret]) => ({ client_id: name.replaceAll(' ', '-'), client_secret: secret, ...grant }));
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, { clients, features: { clientCredentials: { enabled: true } }, ttl: { ClientCredentials: 60 } });
server.on('request', provider.callback());
const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const prepareTokenRequest = () => new URLSearchParams({ grant_type: 'client_credentials' });
const problem = ({ message }) => /not properly encoded|client authentication failed/.exec(message)?.[0] ?? message;
for (const [name, client_secret] of Object.entries(secrets)) {
  const client_id = name.replaceAll(' ', '-');
  const told = [];
  for (const fetchToken of [oldToken, newToken]) {
    const asker = { clientInformation: () => ({ client_id, client_secret }), clientMetadata: { redirect_uris: [] }, prepareTokenRequest };
    told.push(await fetchToken(asker, issuer, { metadata }).then(({ access_token }) => (access_token ? 'token' : 'none'), problem));
  }
  const auth = oauth.ClientSecretBasic(client_secret);
  const options = { [oauth.allowInsecureRequests]: true };
  const answer = await oauth.clientCredentialsGrantRequest(metadata, { client_id }, auth, new URLSearchParams(), options);
  told.push((await answer.json()).access_token ? 'token' : 'none');
  console.log(`${name}: ${told.join(', ')}`);
}
server.close();
server.closeAllConnections();
JS
node try.mjs 2> errors | tee seen || { cat errors; exit 1; }
diff - seen <<'TXT'
letters: token, token, token
a plus: client authentication failed, client authentication failed, token
a percent sign: not properly encoded, not properly encoded, token
TXT
