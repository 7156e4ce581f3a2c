import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { addressLines } from "../../client/approval.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { MAX_WITHDRAWAL_ADDRESSES } from "../../core/ledger/withdrawal-addresses.ts";
import {
  AddWithdrawalAddress,
  ReadWithdrawalAddresses,
  RemoveWithdrawalAddress,
} from "../../core/protocol/commands.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import { Done, WithdrawalAddressesView } from "../../core/protocol/replies.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import * as schema from "../../wire/schema/account.ts";
import { Address } from "../../wire/schema/scalars.ts";
import { KEEPING_COST } from "../auth/limits.ts";
import { readAddress } from "../auth/wallet.ts";
import { replyOf, requestFor, requestOnce } from "../exchange/request.ts";
import { listJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { del, get, post, type Route } from "../routing/route.ts";

export const withdrawalAddressesRoute = (context: Context): Route =>
  get("/account/withdrawal-addresses", {
    access: "READ",
    summary: "The account's address book for withdrawals, oldest first",
    replies: { 200: schema.WithdrawalAddressList },
    handle({ call, principal: { accountId } }) {
      const command = { ...blank(ReadWithdrawalAddresses), accountId };
      requestFor(context, call, LEDGER, command, (transaction) => {
        const { addresses } = replyOf(transaction, WithdrawalAddressesView);
        const rows = addresses.map((entry) => JSON.stringify(entry));
        call.reply(200, listJson(rows, null));
      });
    },
  });

export const addWithdrawalAddressRoute = (context: Context): Route =>
  post("/account/withdrawal-addresses", {
    access: "SESSION",
    summary: "Add an address to the account's address book for withdrawals",
    description:
      "Where the exchange requires the address book (`withdrawalAddressBook`), withdrawals go only to its addresses, and a new " +
      "address waits until `usableAt`. An address that is in the book already stays as it is. " +
      `An account has at most ${MAX_WITHDRAWAL_ADDRESSES} addresses.`,
    cost: KEEPING_COST,
    body: schema.WithdrawalAddressBody,
    replies: { 201: schema.AddedWithdrawalAddress, 200: schema.AddedWithdrawalAddress },
    errors: errorsIn("ADD_ADDRESS", "APPROVAL"),
    async handle({ call, principal: { accountId }, body }) {
      const { label, approval } = body;
      const command = { ...blank(AddWithdrawalAddress), accountId, address: readAddress(body.address), label };
      const remoteAddress = call.remoteAddress();
      await context.approvals.checkOnce({ accountId, lines: addressLines(body), approval, remoteAddress });
      const read = (transaction: ReleasedTransaction): void => {
        const { addresses, duplicate } = replyOf(transaction, WithdrawalAddressesView);
        if (duplicate === 1) call.reply(200, JSON.stringify({ ...addresses[0], duplicate: true }));
        else call.reply(201, JSON.stringify(addresses[0]));
      };
      requestOnce(context, call, LEDGER, command, read, () => context.approvals.restore(approval));
    },
  });

export const removeWithdrawalAddressRoute = (context: Context): Route =>
  del("/account/withdrawal-addresses/:address", {
    access: "SESSION",
    summary: "Remove an address from the account's address book. Withdrawals that were requested go on",
    parameter: Address,
    replies: { 200: schema.RemovedWithdrawalAddress },
    errors: errorsIn("REMOVE_ADDRESS"),
    handle({ call, principal: { accountId }, parameter: address }) {
      const command = { ...blank(RemoveWithdrawalAddress), accountId, address };
      requestFor(context, call, LEDGER, command, (transaction) => {
        replyOf(transaction, Done);
        call.reply(200, JSON.stringify({ address, removed: true }));
      });
    },
  });
