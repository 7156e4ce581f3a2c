import { isIPv6 } from "node:net";

/** Host and port as they stand in a URL: an IPv6 address in brackets. */
export const authorityOf = (host: string, port: number): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** A client with one IPv6 address usually has 2^64 of them, so its /64 network counts. `address` has all its digits. */
export const networkOf = (address: string): string => (isIPv6(address) ? address.slice(0, 19) : address);

/** The text of getRemoteAddressAsText(). */
export const readAddressText = (text: ArrayBuffer): string => unmapIPv4(Buffer.from(text).toString("latin1"));

/** The address as uWebSockets.js prints it, an IPv4 address in its own form: a server on "::" gets it mapped into IPv6. */
export function unmapIPv4(text: string): string {
  const mapped = /^0000:0000:0000:0000:0000:ffff:([0-9a-f]{4}):([0-9a-f]{4})$/.exec(text);
  if (mapped === null) return text;
  const [high, low] = [Number.parseInt(mapped[1] ?? "0", 16), Number.parseInt(mapped[2] ?? "0", 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
