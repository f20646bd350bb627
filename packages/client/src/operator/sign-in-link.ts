import type { BrokerClient } from '@signalbox/client';

/** Makes links to the dashboard, one for each address of the broker. They hold one code, which signs in once. */
export async function makeSignInLink(
  client: BrokerClient,
): Promise<{ links: string[]; expiresInMs: number }> {
  const { code, urls, expires_in_ms } = await client.admin('sign_in_link', {});
  // Browsers never send the part behind #: it is in no log of a proxy.
  return { links: urls.map((url) => `${url}#code=${code}`), expiresInMs: expires_in_ms };
}
