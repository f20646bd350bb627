/** The usual names of this machine, as the `Host` header of a request and the `hostname` of a URL have them. */
export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Tells whether a host is a loopback name or address of this machine. An IPv6 address may be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return host === '::1' || loopbackNames.includes(host) || /^127(\.\d{1,3}){3}$/.test(host);
}
