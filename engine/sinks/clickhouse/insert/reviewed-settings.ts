/**
 * What a profile may set beside the settings that each insert brings (`insert-settings.ts`). `npm run faults -- settings`
 * tries each setting of the embedded ClickHouse; a test compares these lists with the settings that it knows.
 */

/** The version of ClickHouse whose settings were reviewed. */
export const reviewedVersion = "26.7";

/** Names of settings that may touch inserts. One that a profile sets and no list here knows is shown. */
export const touchingInserts =
  /insert|dedup|block|quorum|async|(?:^|_)views?(?:_|$)|limit|overflow|partition|sequential_consistency|implicit_transaction/;

/**
 * Settings that change rows, with the value that changes none. It is sent where the profile has another one, as an older
 * server may not know the setting.
 */
export const corrections: Readonly<Record<string, string>> = {
  // Views get a part of the rows, or none, without an error.
  additional_table_filters: "{}",
  distinct_overflow_mode: "throw",
  group_by_overflow_mode: "throw",
  ignore_materialized_views_with_dropped_target_table: "0",
  join_overflow_mode: "throw",
  materialized_views_ignore_errors: "0",
  read_overflow_mode_leaf: "throw",
  set_overflow_mode: "throw",
  sort_overflow_mode: "throw",
  timeout_overflow_mode_leaf: "throw",
  transfer_overflow_mode: "throw",
  // Rows are stored of a body that breaks off.
  input_format_connection_handling: "0",
  // An insert is several blocks, or its views get several.
  input_format_max_block_size_bytes: "0",
  input_format_max_block_wait_ms: "0",
  min_insert_block_size_bytes_for_materialized_views: "0",
  min_insert_block_size_rows_for_materialized_views: "0",
  // Other values are read, or an error.
  input_format_force_null_for_omitted_fields: "0",
  input_format_json_map_as_array_of_tuples: "0",
  // An insert is a part of a transaction, which may be rolled back after its answer.
  implicit_transaction: "0",
};

/** Settings that a profile may mean, and what they do to rows: they stay as they are, and are shown. */
export const shown: Readonly<Record<string, string>> = {
  date_time_overflow_behavior: "decides what views make of dates that their types do not hold",
  decimal_check_overflow: "lets views compute decimals that overflow, without an error",
  join_default_strictness: "decides how many rows a JOIN of a view gives where its query does not say",
  join_use_nulls: "decides whether a JOIN of a view gives NULL or a default value where nothing matches",
};

/** Settings whose names look as if they touched inserts, with the reason why a profile may set them. */
export const harmless: readonly (readonly [names: RegExp, because: string])[] = [
  [/^(?:output_format|format|show)_/, "they shape texts of answers"],
  [
    /^(?:allow_(?:experimental_)?insert_into_iceberg$|azure_|delta_lake_|engine_file_|file_like_engine_|hdfs_|iceberg_|kafka_|mysql_|s3_|stream_like_engine_|use_(?:hive|iceberg|paimon)_)/,
    "they are of tables of other engines, which never count as exact",
  ],
  [
    /^(?:distributed_|insert_distributed_|insert_shard_id$|parallel_distributed_|parallel_replicas_|optimize_skip_unused_shards_limit$|async_(?:query_sending|socket)_for_remote$)/,
    "they are of Distributed tables, which never count as exact, and of reading from several servers",
  ],
  [/^(?:async_insert_|wait_for_async_insert_timeout$)/, "no insert is asynchronous"],
  [/^max_insert_block_size_rows$/, "it is another name of one that is sent"],
  [/^insert_(?:keeper|quorum)/, "an insert that fails by them is sent again with its token"],
  [
    /^(?:parts_to_(?:delay|throw)_insert|dead_blobs_to_(?:delay|throw)_insert|min_free_disk_(?:bytes|ratio)_to_perform_insert|throw_on_max_partitions_per_insert_block|throw_if_no_data_to_insert|max_partitions_to_read|function_(?:range_max_elements_in|sleep_max_microseconds_per)_block)$/,
    "they decide when a statement is an error, which is told",
  ],
  [
    /^(?:max_insert_threads|max_insert_threads_min_free_memory_per_thread|max_insert_delayed_streams_for_parallel_write|parallel_view_processing|use_async_executor_for_materialized_views|os_threads_nice_value_materialized_view|materialized_views_squash_parallel_inserts|wait_for_part_commit_in_dependent_materialized_views|dictionary_use_async_executor|enable_parallel_blocks_marshalling|send_table_structure_on_insert_with_inline_data)$/,
    "they decide by how many threads, and when, the same rows are written",
  ],
  [
    /^(?:(?:materialize|exclude_materialize)_\w+_on_insert|(?:max|min)_compress_block_size|optimize_on_insert|load_marks_asynchronously|allow_asynchronous_read_from_io_pool_for_merge_tree)$/,
    "they decide how the same rows lie on the disk",
  ],
  [
    /^(?:deduplicate_insert_select|insert_null_as_default|insert_allow_materialized_columns|optimize_trivial_insert_select|use_structure_from_insertion_table_in_table_functions|allow_settings_after_format_in_insert)$/,
    "they are of statements that Sluice does not send",
  ],
  [
    /^(?:alter_|replication_alter_|default_(?:normal_|materialized_)?view_|max_partition_size_to_drop$|max_fetch_partition_retries_count$|allow_replace_partition_from_empty_source$|allow_materialized_view_with_bad_select$|shared_merge_tree_|stop_refreshable_|update_sequential_consistency$|optimize_skip_merged_partitions$)/,
    "they are of statements about tables, and of other servers of one table",
  ],
  [/window_view/, "window views are no materialized views on a table"],
  [
    /^(?:aggregation_in_order_max_block_bytes|allow_(?:aggregate|limit_by)_partitions_independently|analyzer_inline_views|defer_partition_pruning_after_final|do_not_merge_across_partitions_select_final|enable_automatic_decision_for_merging_across_partitions_for_final|exact_rows_before_limit|force_aggregate_partitions_independently|filesystem_\w+|join_runtime_filter_\w+|joined_block_split_single_row|log_query_views|max_block_size|(?:max|min)_joined_block_size_(?:bytes|rows)|max_limit_for_vector_search_queries|max_number_of_partitions_for_independent_aggregation|min_external_table_block_size_(?:bytes|rows)|optimize_\w*limit\w*|page_cache_\w+|partial_merge_join_rows_in_right_blocks|prefer_external_sort_block_bytes|preferred_\w+|query_plan_\w+|read_in_order_use_virtual_row_per_block|result_overflow_mode|select_sequential_consistency|use_partition_\w+|webassembly_\w+)$/,
    "they decide how queries are run, not what they give",
  ],
  [
    /^input_format_(?:csv|hive_text|parquet)_|^allow_experimental_(?:object_storage_queue_hive_partitioning|window_view)$/,
    "they are of formats and features that no insert uses",
  ],
];
