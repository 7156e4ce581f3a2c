import { randomUUID } from "node:crypto";
import type { NewApiKey } from "../client/types.ts";
import { type Command, defined, oneOf, text, UsageError } from "./command.ts";
import { table } from "./table.ts";

const SIGNING = "signs with PERPD_WALLET_KEY if the exchange asks for it";

export const withdraw: Command = {
  name: "withdraw",
  usage: "AMOUNT ADDRESS",
  summary: `withdraw USDC; ${SIGNING}`,
  options: {
    reference: { argument: "TEXT", description: "idempotency key: repeated withdrawals with it are debited once" },
  },
  async run({ client, positionals: [amount = "", address = ""], values, signMessage, terminal: { print }, asJson }) {
    const reference = text(values, "reference") ?? randomUUID();
    const transfer = await client.withdraw({ asset: "USDC", amount, address, reference }, signMessage);
    if (asJson) return print(JSON.stringify(transfer));
    print(`${transfer.status} ${transfer.amount} ${transfer.asset} to ${transfer.address}`);
  },
};

export const addresses: Command = {
  name: "addresses",
  usage: "[ADDRESS] [LABEL]",
  summary: `list the addresses for withdrawals, or add one; ${SIGNING}`,
  options: { remove: { description: "remove ADDRESS" } },
  async run({ client, positionals: [address, label], values, signMessage, terminal: { print, paint }, asJson }) {
    const isRemoval = values.remove === true;
    if (isRemoval ? address === undefined || label !== undefined : (address === undefined) !== (label === undefined))
      throw new UsageError("give an address with a label to add it, or an address and --remove");
    if (address !== undefined && isRemoval) await client.removeWithdrawalAddress(address);
    else if (address !== undefined && label !== undefined)
      await client.addWithdrawalAddress(address, label, signMessage);
    const { data } = await client.withdrawalAddresses();
    if (asJson) return print(JSON.stringify(data));
    if (data.length === 0) return print("no addresses");
    const rows = data.map((entry) => [entry.address, entry.label, new Date(entry.usableAt).toISOString()]);
    print(table(paint, ["address", "label", "usable from (UTC)"], rows));
  },
};

const PERMISSIONS = ["READ", "TRADE", "WITHDRAW"] as const;

export const createKey: Command = {
  name: "create-key",
  usage: "LABEL PERMISSION...",
  summary: `create an API key that may read, trade or withdraw, and print it with its secret; ${SIGNING}`,
  options: {
    "allowed-ips": { argument: "LIST", description: "addresses or subnets that may use it, with commas between them" },
  },
  async run({ client, positionals: [label = "", ...words], values, signMessage, terminal: { print }, asJson }) {
    const permissions = words.map((word) => oneOf("permission", word, PERMISSIONS));
    const allowedIps = text(values, "allowed-ips")?.split(",");
    const key: NewApiKey = { label, permissions, ...defined({ allowedIps }) };
    const created = await client.createKey(key, signMessage);
    print(asJson ? JSON.stringify(created) : `PERPD_API_KEY=${created.apiKey}\nPERPD_SECRET=${created.secret}`);
  },
};
