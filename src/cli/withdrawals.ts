import { randomUUID } from "node:crypto";
import type { NewApiKey } from "../client/types.ts";
import { type Command, defined, oneOf, text, UsageError } from "./command.ts";
import { tableOr } from "./table.ts";

const SIGNING = "signs with PERPD_WALLET_KEY if the exchange asks for it";

export const withdraw: Command = {
  name: "withdraw",
  usage: "AMOUNT ADDRESS",
  summary: `withdraw USDC; ${SIGNING}`,
  options: {
    reference: { argument: "TEXT", description: "idempotency key: repeated withdrawals with it are debited once" },
  },
  async run({ client, positionals: [amount = "", address = ""], values, signMessage, show }) {
    const reference = text(values, "reference") ?? randomUUID();
    const transfer = await client.withdraw({ asset: "USDC", amount, address, reference }, signMessage);
    show(transfer, ({ status, amount, asset, address }) => `${status} ${amount} ${asset} to ${address}`);
  },
};

export const addresses: Command = {
  name: "addresses",
  usage: "[ADDRESS] [LABEL]",
  summary: `list the addresses for withdrawals, or add one; ${SIGNING}`,
  options: { remove: { description: "remove ADDRESS" } },
  async run({ client, positionals: [address, label], values, signMessage, terminal: { paint }, show }) {
    const isRemoval = values.remove === true;
    if (isRemoval ? address === undefined || label !== undefined : (address === undefined) !== (label === undefined))
      throw new UsageError("give an address with a label to add it, or an address and --remove");
    if (address !== undefined && isRemoval) await client.removeWithdrawalAddress(address);
    else if (address !== undefined && label !== undefined)
      await client.addWithdrawalAddress(address, label, signMessage);
    const { data } = await client.withdrawalAddresses();
    show(data, () => {
      const rows = data.map((entry) => [entry.address, entry.label, new Date(entry.usableAt).toISOString()]);
      return tableOr("no addresses", paint, ["address", "label", "usable from (UTC)"], rows);
    });
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
  async run({ client, positionals: [label = "", ...words], values, signMessage, show }) {
    const permissions = words.map((word) => oneOf("permission", word, PERMISSIONS));
    const allowedIps = text(values, "allowed-ips")?.split(",");
    const key: NewApiKey = { label, permissions, ...defined({ allowedIps }) };
    const created = await client.createKey(key, signMessage);
    show(created, ({ apiKey, secret }) => `PERPD_API_KEY=${apiKey}\nPERPD_SECRET=${secret}`);
  },
};
