import { expect, test } from "vitest";
import { withoutDatabase } from "../../../reconciler/pipeline-tests/own-names.ts";

test.each([
  ["CREATE TABLE shop.orders (id String)", "CREATE TABLE orders (id String)"],
  ["CREATE TABLE `shop`.`orders` (id String)", "CREATE TABLE `orders` (id String)"],
  ['CREATE TABLE "shop" . orders (id String)', "CREATE TABLE orders (id String)"],
  [
    "CREATE VIEW v AS SELECT o.shop FROM shop.a AS o JOIN shop.b USING id",
    "CREATE VIEW v AS SELECT o.shop FROM a AS o JOIN b USING id",
  ],
  ["SELECT 'shop.orders', 'it''s shop.x' -- shop.orders", "SELECT 'shop.orders', 'it''s shop.x' -- shop.orders"],
  ["SELECT x.shop.y, shops.orders, other.shop FROM t", "SELECT x.shop.y, shops.orders, other.shop FROM t"],
  ["CREATE TABLE shop (id String)", "CREATE TABLE shop (id String)"],
])("%s", (statement, expected) => expect(withoutDatabase(statement, "shop")).toBe(expected));
