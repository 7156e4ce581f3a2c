import { BlockList, isIPv4, isIPv6 } from "node:net";

/** A set of addresses and subnets, such as 203.0.113.7 and 203.0.113.0/24. Null when an entry is malformed. */
export function parseAddressList(entries: readonly string[]): BlockList | null {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix, ...rest] = entry.split("/");
    const family = isIPv4(address) ? "ipv4" : isIPv6(address) ? "ipv6" : null;
    if (family === null || rest.length > 0) return null;
    const bits = family === "ipv4" ? 32 : 128;
    if (prefix !== undefined && (!/^[0-9]{1,3}$/.test(prefix) || Number(prefix) > bits)) return null;
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family);
  }
  return list;
}

export const isListed = (list: BlockList, address: string): boolean =>
  list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
