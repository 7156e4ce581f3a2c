import { isIPv4, isIPv6 } from "node:net";
import { isListed, parseAddressList } from "../common/address-list.ts";
import { unmapIPv4 } from "./addresses.ts";

/** More proxies one behind the other are a mistake. */
const MAX_HOPS = 16;
const MAX_KNOWN = 4096;

/** The proxies whose X-Forwarded-For is believed. */
export class TrustedProxies {
  private readonly list;
  /** A check of the list takes about 1 µs, a look-up in a map a tenth. */
  private readonly known = new Map<string, boolean>();

  /** Addresses and subnets, such as 10.0.0.7 and 10.0.0.0/8. Throws an Error if one is malformed. */
  constructor(entries: readonly string[]) {
    const list = parseAddressList(entries);
    if (list === null) throw new Error(`not addresses or subnets: ${entries.join()}`);
    this.list = list;
  }

  /** `address`: as uWebSockets.js prints it. */
  has(address: string): boolean {
    const known = this.known.get(address);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    const isTrusted = isListed(this.list, address);
    this.known.set(address, isTrusted);
    return isTrusted;
  }

  /**
   * The address of the client behind `peer`. `forwardedFor`: the values of X-Forwarded-For with commas between them. Each proxy
   * appends the address that it was asked from. So the last entry that is no trusted proxy is the client, and what stands
   * before it is the client's own claim. An entry that is no address counts as missing.
   */
  clientOf(peer: string, forwardedFor: string): string {
    let client = peer;
    let end = forwardedFor.length;
    for (let hops = 0; hops < MAX_HOPS && end > 0 && this.has(client); hops++) {
      const start = forwardedFor.lastIndexOf(",", end - 1) + 1;
      const hop = readHop(forwardedFor.slice(start, end).trim());
      if (hop === null) break;
      client = hop;
      end = start - 1;
    }
    return client;
  }
}

/** An address, perhaps with a port. */
const IPV4_AND_PORT = /^([0-9.]+):[0-9]{1,5}$/;
const IPV6_IN_BRACKETS = /^\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?$/;

/** The address of an entry in the form of uWebSockets.js: IPv6 with all its digits. Null if it is none. */
function readHop(text: string): string | null {
  if (isIPv4(text)) return text;
  const address = (IPV4_AND_PORT.exec(text) ?? IPV6_IN_BRACKETS.exec(text))?.[1] ?? text;
  if (isIPv4(address)) return address;
  // One with a zone ("fe80::1%eth0") is no URL.
  const url = `http://[${address}]/`;
  return isIPv6(address) && URL.canParse(url) ? unmapIPv4(expand(new URL(url).hostname.slice(1, -1))) : null;
}

/** "2001:db8::1" → "2001:0db8:0000:0000:0000:0000:0000:0001" */
function expand(compressed: string): string {
  const [first = [], last = []] = compressed.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].map((group) => group.padStart(4, "0")).join(":");
}
